package model_test

import (
	"context"
	"fmt"

	"exactlyone/model"
)

// A writer is ordinary code: it runs over a store in memory as it does over
// one that a scheduler owns.
func ExampleKeySplit() {
	store := model.NewMemory(model.ReportTables)
	writer := model.KeySplit{Store: store}
	req := model.Request{Method: "POST", Path: "/reports", Key: "run-1:call-1", Body: "Login fails"}
	fmt.Println(writer.Handle(context.Background(), req))
	fmt.Println(writer.Handle(context.Background(), req))
	fmt.Println(len(store.Rows("reports")), "report")
	// Output:
	// 201 {"id":1}
	// 201 {"id":1} [Idempotent-Replayed: true]
	// 1 report
}

func ExampleKeySource() {
	op := model.Operation{RunID: "run-1", ToolUseID: "call-1", Module: "auth", Title: "Login fails!"}
	again := op
	again.ToolUseID, again.Title = "call-2", "login: FAILS"
	for _, source := range []model.KeySource{model.KeyToolCall, model.KeyBusiness} {
		fmt.Println(source, source.Key(op, nil) == source.Key(again, nil))
	}
	// Output:
	// tool_call false
	// business true
}
