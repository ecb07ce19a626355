package model

// Effect is one trace that an operation left in a store, e.g. one report.
type Effect struct {
	Operation string // whose effect it is; "" if nobody asked for it
	ID        string // as the answer names it; "" if answers name none
	Body      string // what was stored
	Kind      string // "" for what answers name; else what follows from it, e.g. "message"
}

// Told is one answer that reached the client who waited for it.
type Told struct {
	Client    int // 0-based; only for properties of the whole history, 0 for others
	Operation string
	Request   Request
	Answer    Answer
	Success   bool   // the system counts this answer as success
	ID        string // the id of the effect that the answer names, if any
}

// History is what clients were told so far, in order.
type History []Told
