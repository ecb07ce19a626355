package rapidsource_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/rapidsource"
)

// Titles, and who submits which of them, are drawn beside the schedule and the
// faults. In a test, t is its *testing.T.
func ExampleCheck() {
	t := &fakeT{name: "ExampleCheck"}
	rapid.Check(t, func(t *rapid.T) {
		titles := rapid.SliceOfNDistinct(rapid.StringN(1, 20, -1), 1, 3, rapid.ID).Draw(t, "titles")
		plan := rapid.SliceOfN(rapid.SampledFrom(titles), 1, 3).Draw(t, "plan")

		sys, _, err := exactlyone.NewBuiltin("key_atomic", "") // or a System of your own
		if err != nil {
			t.Fatal(err)
		}
		sys.Client = func(i int) model.Client {
			return model.Client{Key: model.KeyToolCall, Backoff: time.Second, Operation: model.Operation{
				Name: plan[i], ToolUseID: plan[i], Path: "/reports", Body: fmt.Sprintf(`{"title":%q}`, plan[i]),
			}}
		}
		rapidsource.Check(t, sys, exactlyone.Bounds{Clients: len(plan)})
	})
	fmt.Println("failed:", t.failed)
	// Output: failed: false
}
