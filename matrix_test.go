package exactlyone

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/model"
)

// TestMatrix pins the published table, and the worst cases beside it: only a
// key per attempt was lucky, with a crash before the second commit instead of
// after it.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	got, err := Matrix(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []MatrixRow{
		{"naive", model.KeyNone, [5]int{2, 2, 2, 2, 2}, [5]int{2, 2, 2, 2, 2}},
		{"key_atomic", model.KeyPerAttempt, [5]int{2, 1, 2, 2, 2}, [5]int{2, 2, 2, 2, 2}},
		{"key_split", model.KeyToolCall, [5]int{1, 2, 2, 2, 2}, [5]int{1, 2, 2, 2, 2}},
		{"key_atomic", model.KeyToolCall, [5]int{1, 1, 1, 2, 2}, [5]int{1, 1, 1, 2, 2}},
		{"key_atomic", model.KeyBusiness, [5]int{1, 1, 1, 1, 2}, [5]int{1, 1, 1, 1, 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !got[1].Lucky(1) || got[0].Lucky(0) {
		t.Error("the one lucky cell is a key per attempt and a crash")
	}
}
