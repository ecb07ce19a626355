package exactlyone

import (
	"context"
	"time"

	"exactlyone/model"
)

// lease is how long a claim of the built-in key_atomic writers stands, work how
// long the work takes of those that work for long, and retention for how long a
// key is kept of those that forget.
const (
	lease     = 30 * time.Second
	work      = time.Minute
	retention = 24 * time.Hour
)

// Builtins are the writers that come with the toolkit, the simplest first.
var Builtins = []Builtin{
	{
		Name: "naive", About: "inserts a report for every request and answers; ignores the key",
		make:  func(env *Env) model.Server { return model.Naive{Store: env.Store("db")} },
		noKey: true,
	},
	{
		Name: "check_first", About: "looks whether the report is there, then inserts: two that look at once file two",
		make:   func(env *Env) model.Server { return model.CheckFirst{Store: env.Store("db")} },
		adjust: reportsIn(model.UniqueTables(false)),
	},
	{
		Name: "check_first_tx", About: "check_first in one transaction: enough only where transactions are serial",
		make:   func(env *Env) model.Server { return model.CheckFirst{Store: env.Store("db"), Tx: true} },
		adjust: reportsIn(model.UniqueTables(false)),
	},
	{
		Name: "unique", About: "leaves it to a unique constraint, answers a duplicate with what is there",
		make:   func(env *Env) model.Server { return model.Unique{Store: env.Store("db")} },
		adjust: reportsIn(model.UniqueTables(true)),
	},
	{
		Name: "unique_staged", About: "unique, but finishes the report in a second statement: a crash leaves it unfinished for ever",
		make:   func(env *Env) model.Server { return model.Unique{Store: env.Store("db"), Staged: true} },
		adjust: reportsIn(model.UniqueTables(true)),
	},
	{
		Name: "cache", About: "keeps answers in node memory: not shared by two requests at once or two nodes, gone after a crash",
		make:   func(env *Env) model.Server { return model.NewCache(env.Store("db"), nil) },
		adjust: func(s *System) { s.Stateless = false },
	},
	{
		Name: "mutex", About: "cache behind a lock in the process: right on one node that never crashes",
		make:   func(env *Env) model.Server { return model.NewCache(env.Store("db"), env.Locker()) },
		adjust: func(s *System) { s.Stateless = false },
	},
	{
		Name: "key_split", About: "looks the key up, files the report in one transaction, registers the key in another",
		make: func(env *Env) model.Server { return model.KeySplit{Store: env.Store("db")} },
	},
	{
		Name: "key_atomic", About: "claims the key with lease and fence; files the report and marks the key done if the claim stands",
		make: keyAtomic(nil), adjust: claims,
	},
	{
		Name: "key_atomic_nofence", About: "key_atomic without looking whether the claim still stands",
		make: keyAtomic(func(w *model.KeyAtomic, _ *Env) { w.NoFence = true }), adjust: leased,
	},
	{
		Name: "key_atomic_short_lease", About: "key_atomic whose work takes longer than its lease: two overtake each other for ever",
		make: keyAtomic(func(w *model.KeyAtomic, _ *Env) { w.Work = work }), adjust: claims,
	},
	{
		Name: "key_atomic_renewed", About: "the same with a renewer of the claims that its process holds",
		make: renewed(false), adjust: renews(false),
	},
	{
		Name: "key_atomic_renew_all", About: "the same with a renewer of all claims: one whose owner died stands for ever",
		make: renewed(true), adjust: renews(true),
	},
	{
		Name: "key_atomic_stored_errors", About: "key_atomic that calls a third party, and stores the answer also when that fails",
		make:   keyAtomic(func(w *model.KeyAtomic, env *Env) { w.Partner, w.StoreErrors = env.Client("bank"), true }),
		adjust: func(s *System) { claims(s); calls(true)(s) },
	},
	{
		Name: "key_atomic_unstored_errors", About: "key_atomic that calls a third party, and frees the claim when that fails",
		make:   keyAtomic(func(w *model.KeyAtomic, env *Env) { w.Partner = env.Client("bank") }),
		adjust: func(s *System) { claims(s); calls(true)(s) },
	},
	{
		Name: "key_atomic_retention", About: "key_atomic that keeps keys for 24 h; a sweeper deletes finished ones after that",
		make: retained(retention), adjust: sweeps(false),
	},
	{
		Name: "key_atomic_sweep_claims", About: "the same with a sweeper that also deletes expired claims: fences start again, and an owner that was overtaken passes",
		make: retained(retention), adjust: sweeps(true),
	},
	{
		Name: "key_atomic_sweep_early", About: "the same with a sweeper that deletes after an hour what is promised for 24",
		make: retained(time.Hour), adjust: sweeps(false),
	},
	{
		Name: "outbox", About: "report and message in one transaction, a relay that sends at least once, a consumer that drops duplicates",
		make: outbox(true), adjust: relays(true),
	},
	{
		Name: "outbox_nodedup", About: "outbox with a consumer that takes every message",
		make: outbox(false), adjust: relays(false),
	},
	{
		Name: "saga", About: "report in one store, charge in another, undone when the charge fails: an error need not mean failure",
		make: func(env *Env) model.Server { return model.Saga{Store: env.Store("db"), Bank: env.Store("bank")} },
		adjust: func(s *System) {
			s.Stores = []Store{{Name: "db", Tables: model.SagaTables}, {Name: "bank", Tables: model.ChargeTables}}
			s.Follows = []string{"charge"}
			s.Effects = sagaEffects
		},
	},
	{
		Name: "downstream", About: "calls a third party that honours the key, then files the report and the key",
		make:   downstream,
		adjust: calls(true),
	},
	{
		Name: "downstream_ignored", About: "the same with a third party that ignores the key",
		make:   downstream,
		adjust: calls(false),
	},
}

// reportsIn keeps the reports in other tables.
func reportsIn(t model.Schema) func(s *System) {
	return func(s *System) { s.Stores = []Store{{Name: "db", Tables: t}} }
}

// keyAtomic makes key_atomic, with its fields set by set; nil means none.
func keyAtomic(set func(w *model.KeyAtomic, env *Env)) func(env *Env) model.Server {
	return func(env *Env) model.Server {
		w := model.KeyAtomic{Store: env.Store("db"), Clock: env.Clock(), Lease: lease, Note: env.Note}
		if set != nil {
			set(&w, env)
		}
		return w
	}
}

// leased declares the lease.
func leased(s *System) { s.Durations = []time.Duration{lease} }

// claims also declares who holds which key of key_atomic.
func claims(s *System) {
	leased(s)
	s.Claims = func(c Contents) (all []Claim) {
		for _, row := range c.Rows("db", "keys") {
			if row.Text("status") == model.InProgress {
				all = append(all, Claim{Key: row.Text("key"), Owner: model.Literal(row["fence"])})
			}
		}
		return all
	}
}

// keeper is key_atomic with a renewer beside it.
type keeper struct {
	model.KeyAtomic
	renewer model.Renewer
}

func renewed(all bool) func(env *Env) model.Server {
	return func(env *Env) model.Server {
		held := model.NewClaims()
		w := keyAtomic(func(w *model.KeyAtomic, _ *Env) { w.Work, w.Held = work, held })(env)
		r := model.Renewer{Store: env.Store("db"), Clock: env.Clock(), Lease: lease, Held: held, All: all}
		return keeper{w.(model.KeyAtomic), r}
	}
}

func renews(all bool) func(s *System) {
	return func(s *System) {
		claims(s)
		s.Background = []Background{{Name: "renewer", Run: func(ctx context.Context, s model.Server) { s.(keeper).renewer.Renew(ctx) }}}
		s.Stateless = all // else it remembers what it holds
	}
}

func retained(d time.Duration) func(env *Env) model.Server {
	return keyAtomic(func(w *model.KeyAtomic, _ *Env) { w.Retention = d })
}

func sweeps(all bool) func(s *System) {
	return func(s *System) {
		claims(s)
		s.Retention = retention
		s.Background = []Background{{Name: "sweeper", Run: func(ctx context.Context, s model.Server) {
			w := s.(model.KeyAtomic)
			model.Sweeper{Store: w.Store, Clock: w.Clock, Claims: all}.Sweep(ctx)
		}}}
	}
}

func outbox(dedup bool) func(env *Env) model.Server {
	return func(env *Env) model.Server {
		return model.Outbox{Store: env.Store("db"), Mail: env.Store("mail"), Dedup: dedup}
	}
}

func relays(dedup bool) func(s *System) {
	return func(s *System) {
		s.Stores = []Store{{Name: "db", Tables: model.OutboxTables}, {Name: "mail", Tables: model.MailTables(dedup)}}
		s.Follows = []string{"message"}
		s.Background = []Background{{Name: "relay", Run: func(ctx context.Context, s model.Server) { s.(model.Outbox).Relay(ctx) }}}
		s.Effects = func(c Contents) []model.Effect {
			return follow(ReportEffects(c), c.Rows("mail", "messages"), "message")
		}
	}
}

// calls declares the third party, whose charges follow from reports.
func calls(honoured bool) func(s *System) {
	return func(s *System) {
		s.Durations = []time.Duration{lease}
		s.Services = []Service{{Name: "bank", HonoursKey: honoured}}
		s.Follows = []string{"charge"}
		s.Effects = func(c Contents) []model.Effect { return follow(ReportEffects(c), c.Rows("bank", "calls"), "charge") }
	}
}

func downstream(env *Env) model.Server {
	return model.Downstream{Store: env.Store("db"), Bank: env.Client("bank")}
}

// follow adds what follows from reports.
func follow(reports []model.Effect, rows []model.Row, kind string) []model.Effect {
	for _, row := range rows {
		reports = append(reports, model.Effect{Body: row.Text("body"), Kind: kind})
	}
	return reports
}

// sagaEffects leaves out reports that were deleted.
func sagaEffects(c Contents) (all []model.Effect) {
	for _, row := range c.Rows("db", "reports") {
		if row.Int("deleted") == 0 {
			all = append(all, model.Effect{ID: model.Literal(row["id"]), Body: row.Text("body")})
		}
	}
	return follow(all, c.Rows("bank", "charges"), "charge")
}
