package exactlyone

import (
	"fmt"
	"strings"

	"exactlyone/model"
)

// Workload is what the clients of a built-in writer submit.
type Workload string

// The workloads. In those in which a key is used again for something else, it is
// the second client that does so; from the fourth on the client alone is unusual.
const (
	SameReport    Workload = "same"         // all submit the same report
	Operations    Workload = "operations"   // each its own report, under its own key
	OtherPayload  Workload = "payload"      // one key, another payload
	OtherCaller   Workload = "caller"       // one key, the same payload from another caller
	OtherEndpoint Workload = "endpoint"     // one key, the same payload to another path
	Reserialised  Workload = "reserialised" // each retry sends other JSON text for the same value
	AgentNewCall  Workload = "new_call"     // an agent that does not know submits again with a new tool-call id
	AgentReword   Workload = "reword"       // it also rewords the title
)

// Workloads lists them all.
var Workloads = []Workload{SameReport, Operations, OtherPayload, OtherCaller, OtherEndpoint, Reserialised, AgentNewCall, AgentReword}

// ParseWorkload is the workload of that name; "" means the same report. The
// error wraps [ErrUsage].
func ParseWorkload(name string) (Workload, error) {
	if name == "" {
		return SameReport, nil
	}
	var names []string
	for _, w := range Workloads {
		if string(w) == name {
			return w, nil
		}
		names = append(names, string(w))
	}
	return "", fmt.Errorf("%w: workload %q: one of %s was expected", ErrUsage, name, strings.Join(names, ", "))
}

// Apply makes the clients of a built-in writer's system submit this.
func (w Workload) Apply(sys *System) {
	same := sys.Client
	sys.Client = func(i int) model.Client {
		c := same(i)
		op := &c.Operation
		switch w {
		case Operations:
			op.Name, op.Title = fmt.Sprintf("report %d", i+1), fmt.Sprintf("Login fails (%d)", i+1)
			op.OtherTitle = fmt.Sprintf("Cannot log in (%d)", i+1)
			op.Body, op.ToolUseID = fmt.Sprintf(`{"title":%q}`, op.Title), fmt.Sprintf("call-%d", i+1)
		case OtherPayload:
			if i > 0 {
				op.Name, op.Body = "the other report", `{"title":"Logout fails"}`
			}
		case OtherCaller:
			if i > 0 {
				op.Caller = "somebody else"
			}
		case OtherEndpoint:
			if i > 0 {
				op.Path = "/drafts"
			}
		case Reserialised:
			c.Reserialise = true
		case AgentNewCall:
			c.Agent = model.NewCall
		case AgentReword:
			c.Agent = model.Reword
		}
		return c
	}
}
