package sqlitestore_test

import (
	"fmt"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/model"
	"exactlyone/sqlitestore"
)

// A backend goes back to any state it has returned.
func Example() {
	b, err := sqlitestore.Open(exactlyone.Store{Name: "reports", Tables: model.Schema{{
		Name:    "reports",
		Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "title", Kind: model.Text}},
		Unique:  [][]string{{"title"}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()

	insert := exactlyone.StmtOp{Stmt: model.Insert("reports", model.Set("title", "crash"))}
	empty, err := b.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	one, _, reply := b.Do(empty, nil, insert, clock.Epoch)
	fmt.Println(reply)
	_, _, reply = b.Do(one, nil, insert, clock.Epoch)
	fmt.Println(reply)
	_, _, reply = b.Do(empty, nil, insert, clock.Epoch)
	fmt.Println(reply)
	// Output:
	// id 1
	// error: store: duplicate key
	// id 1
}
