package simhttp_test

import (
	"testing"
	"time"

	"exactlyone"
	"exactlyone/internal/orders"
)

func TestOrders(t *testing.T) {
	r, text := run(t, orders.System(false, time.Now), exactlyone.Bounds{})
	if r.Verdict != exactlyone.Violated {
		t.Error(text)
	}
	t.Log(text)
	r, text = run(t, orders.System(true, time.Now), exactlyone.Bounds{})
	t.Log(text)
	if r.Verdict != exactlyone.Holds {
		t.Error(r.Verdict)
	}
}
