// Package ownwriter is a caller's own writer, checked with exactlyone from a
// module of its own: a sign-up that must leave one account for one address.
package ownwriter

import (
	"context"
	"exactlyone/model"
	"fmt"
)

// Tables is where accounts are kept. With the constraint a second account for
// one address is an error; without it only the code stands between.
func Tables(unique bool) model.Schema {
	accounts := model.Table{
		Name: "accounts",
		Columns: []model.Column{
			{Name: "id", Kind: model.Serial}, {Name: "email", Kind: model.Text}, {Name: "body", Kind: model.Text},
		},
	}
	if unique {
		accounts.Unique = [][]string{{"email"}}
	}
	return model.Schema{accounts}
}

// LookThenInsert looks for the account and inserts it if there is none. Two
// requests at once both find none.
type LookThenInsert struct{ Store model.Store }

// Handle answers 201 with the new account, 200 with the one there is.
func (w LookThenInsert) Handle(ctx context.Context, req model.Request) model.Answer {
	if a, ok := find(ctx, w.Store, req.Key); ok {
		return a
	}
	res, err := w.Store.Do(ctx, model.Insert("accounts", model.Set("email", req.Key), model.Set("body", req.Body)))
	if err != nil {
		return model.Answer{Status: 503}
	}
	return model.Answer{Status: 201, Body: fmt.Sprint(res.ID)}
}

// InsertThenLook inserts, and looks only if the constraint forbids it.
type InsertThenLook struct{ Store model.Store }

// Handle answers 201 with the new account, 200 with the one there is.
func (w InsertThenLook) Handle(ctx context.Context, req model.Request) model.Answer {
	res, err := w.Store.Do(ctx, model.InsertIfAbsent("accounts", model.Set("email", req.Key), model.Set("body", req.Body)))
	if err != nil {
		return model.Answer{Status: 503}
	}
	if res.Affected == 1 {
		return model.Answer{Status: 201, Body: fmt.Sprint(res.ID)}
	}
	if a, ok := find(ctx, w.Store, req.Key); ok {
		return a
	}
	return model.Answer{Status: 503}
}

func find(ctx context.Context, s model.Store, email string) (model.Answer, bool) {
	res, err := s.Do(ctx, model.Select("accounts", model.Eq("email", email)))
	if err != nil || len(res.Rows) == 0 {
		return model.Answer{}, false
	}
	return model.Answer{Status: 200, Body: fmt.Sprint(res.Rows[0].Int("id"))}, true
}
