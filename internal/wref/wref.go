// Package wref is the benchmark system w as a straight-line program, written
// without the explorer and independently of it, so that the explorer can be
// compared with it state by state.
//
// W(clients, crash, lost, expire): clients submit one operation under one key,
// three attempts each. A crash kills one handling, a lost response makes its
// client retry, expire passes every lease now held. A statement and its commit
// are one step, sending is none.
package wref

// Writer is one of the four writers of w.
type Writer uint8

// The writers.
const (
	Naive Writer = iota
	KeySplit
	KeyAtomic
	KeyAtomicNoFence
)

// Key status.
const (
	None uint8 = iota
	InProgress
	Done
)

// Values of Client.PC; 1, 2, 3 are the writer's numbered steps. MaxAttempt is the
// number of attempts each client has.
const (
	AtRespond  uint8 = 4
	Finished   uint8 = 5
	MaxAttempt uint8 = 3
)

// Response kinds.
const (
	NoResp uint8 = iota
	OK
	Conflict // 409
)

// MaxClients is the number of clients a State has room for.
const MaxClients = 4

// Client is one client and the handling of its attempt.
type Client struct {
	PC      uint8 // 1..3, AtRespond, Finished
	Attempt uint8 // 1..3; kept when finished
	Mine    uint8 // fence claimed; nonzero only at PC 2 and 3 of the key_atomic writers
	Kind    uint8 // pending response, nonzero only at AtRespond
	ID      uint8 // PC 3 of key_split: own report; AtRespond: id in a pending OK; Finished: id seen, 0 = no success
}

// State is all that tells two states of w apart: no history, no depth.
type State struct {
	Reports             uint8 // count(reports); ids are 1..Reports
	Status              uint8
	Expired             uint8 // nonzero only while Status == InProgress
	Fence               uint8
	Resp                uint8
	Crash, Lost, Expire uint8 // budgets left
	N                   uint8 // number of clients, constant
	C                   [MaxClients]Client
}

// Initial is the state before the first choice.
func Initial(clients, crash, lost, expire int) State {
	s := State{Crash: uint8(crash), Lost: uint8(lost), Expire: uint8(expire), N: uint8(clients)}
	for i := range clients {
		s.C[i] = Client{PC: 1, Attempt: 1}
	}
	return s
}

func retry(c *Client) {
	if c.Attempt < MaxAttempt {
		*c = Client{PC: 1, Attempt: c.Attempt + 1}
	} else {
		*c = Client{PC: Finished, Attempt: c.Attempt}
	}
}

func respond(c *Client, kind, id uint8) {
	*c = Client{PC: AtRespond, Attempt: c.Attempt, Kind: kind, ID: id} // clears Mine
}

// step makes client i's next numbered step (or delivers its response).
func step(w Writer, s State, i int) State {
	c := &s.C[i]
	if c.PC == AtRespond {
		if c.Kind == OK {
			*c = Client{PC: Finished, Attempt: c.Attempt, ID: c.ID}
		} else {
			retry(c)
		}
		return s
	}
	switch w {
	case Naive: // PC is 1
		s.Reports++
		respond(c, OK, s.Reports)
	case KeySplit:
		switch c.PC {
		case 1:
			if s.Status == Done {
				respond(c, OK, s.Resp)
			} else {
				c.PC = 2
			}
		case 2:
			s.Reports++
			c.PC, c.ID = 3, s.Reports
		case 3:
			if s.Status == None {
				s.Status, s.Resp = Done, c.ID
			}
			respond(c, OK, c.ID)
		}
	case KeyAtomic, KeyAtomicNoFence:
		switch c.PC {
		case 1:
			switch {
			case s.Status == Done:
				respond(c, OK, s.Resp)
			case s.Status == InProgress && s.Expired == 0:
				respond(c, Conflict, 0)
			default:
				s.Status, s.Expired = InProgress, 0
				s.Fence++
				c.PC, c.Mine = 2, s.Fence
			}
		case 2:
			c.PC = 3
		case 3:
			switch {
			case w == KeyAtomicNoFence || s.Status == InProgress && s.Fence == c.Mine:
				s.Reports++
				s.Status, s.Expired, s.Resp = Done, 0, s.Reports
				respond(c, OK, s.Reports)
			case s.Status == Done:
				respond(c, OK, s.Resp)
			default:
				respond(c, Conflict, 0)
			}
		}
	}
	return s
}

// Successors calls f once per enabled choice; none means the execution is complete.
func Successors(w Writer, s State, f func(choice string, client int, t State)) {
	running := false
	for i := range int(s.N) {
		if s.C[i].PC == Finished {
			continue
		}
		running = true
		f("step", i, step(w, s, i))
		if s.Lost > 0 && s.C[i].PC == AtRespond {
			t := s
			t.Lost--
			retry(&t.C[i])
			f("lose", i, t)
		}
		if s.Crash > 0 {
			t := s
			t.Crash--
			retry(&t.C[i])
			f("crash", i, t)
		}
	}
	if running && s.Expire > 0 {
		t := s
		t.Expire--
		if t.Status == InProgress {
			t.Expired = 1
		}
		f("jump", -1, t)
	}
}

// Complete says whether every client is done.
func Complete(s State) bool {
	for _, c := range s.C[:s.N] {
		if c.PC != Finished {
			return false
		}
	}
	return true
}

// Violates says whether the property of w is broken in a complete state: at most
// one report, exactly one if a client saw success, every id seen exists.
func Violates(s State) bool {
	success := false
	for _, c := range s.C[:s.N] {
		if c.ID != 0 {
			success = true
			if c.ID > s.Reports {
				return true
			}
		}
	}
	return s.Reports > 1 || success && s.Reports != 1
}

// Sorted is the representative of s with clients taken as interchangeable.
func Sorted(s State) State {
	key := func(c Client) uint64 {
		return uint64(c.PC)<<32 | uint64(c.Attempt)<<24 | uint64(c.Mine)<<16 | uint64(c.Kind)<<8 | uint64(c.ID)
	}
	for i := 1; i < int(s.N); i++ {
		for j := i; j > 0 && key(s.C[j]) < key(s.C[j-1]); j-- {
			s.C[j], s.C[j-1] = s.C[j-1], s.C[j]
		}
	}
	return s
}
