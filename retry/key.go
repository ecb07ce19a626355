package retry

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// KeyHeader is the header field that carries an idempotency key
// (draft-ietf-httpapi-idempotency-key-header). The draft puts it in quotes;
// servers take it without, and so it is sent.
const KeyHeader = "Idempotency-Key"

// RandomKey is a key for one operation that nothing else is known about: 128
// random bits in hexadecimal. Make it once, before the first attempt; a program
// that restarts and makes another one submits the operation twice.
func RandomKey() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails, see crypto/rand
	return hex.EncodeToString(id[:])
}

// ToolCallKey is the key of one call of a tool in one run of an agent:
// run:toolUse. It is the same when that call is carried out again, and another
// one when the model calls the tool again, even with the same arguments. A colon
// in run is written %3A and a percent sign %25, so that no two calls share a key.
func ToolCallKey(run, toolUse string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(run) + ":" + toolUse
}

// Scope says among which calls equal arguments mean the same operation.
type Scope string

// The scopes. The key is a hash of the arguments and of what is named here.
const (
	ScopeCall    Scope = ""        // session and tool: this tool in this session
	ScopeTool    Scope = "tool"    // tool: this tool in all sessions
	ScopeSession Scope = "session" // session: all tools of this session, e.g. create_issue and its alias
	ScopeGlobal  Scope = "global"  // neither
)

// Business is what a business key is made of: what is asked for, not who asks.
// It is the same when a model, after a restart, asks for the same thing again.
type Business struct {
	Scope   Scope
	Session string
	Tool    string
	// Arguments is JSON. Two texts that [Canonical] makes one are the same
	// arguments: the order of members and whitespace do not matter. "" means
	// that there are none, which is not the same as null.
	Arguments string
}

// Key is the SHA-256 hash of all that counts within the scope, in hexadecimal.
// The error is that of [Canonical], or names an unknown scope.
func (b Business) Key() (string, error) {
	parts := []string{string(b.Scope)}
	switch b.Scope {
	case ScopeCall:
		parts = append(parts, b.Session, b.Tool)
	case ScopeTool:
		parts = append(parts, b.Tool)
	case ScopeSession:
		parts = append(parts, b.Session)
	case ScopeGlobal:
	default:
		return "", fmt.Errorf("retry: scope %q: \"\", tool, session or global was expected", b.Scope)
	}
	if b.Arguments != "" {
		args, err := Canonical([]byte(b.Arguments))
		if err != nil {
			return "", fmt.Errorf("retry: arguments of %s: %w", b.Tool, err)
		}
		parts = append(parts, string(args))
	}
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
