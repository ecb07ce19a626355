package exactlyone_test

import (
	"context"
	"database/sql"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

// calm is bounds for one request in which nothing goes wrong.
var calm = exactlyone.Bounds{Clients: 1, Attempts: 1, Crashes: exactlyone.None, LostAnswers: exactlyone.None, Jumps: exactlyone.None}

// sqlSystem is a handler over a table of rows.
func sqlSystem(start func(env *exactlyone.Env, db *sql.DB) http.HandlerFunc) exactlyone.System {
	return exactlyone.System{
		Name:   "rows",
		Stores: []exactlyone.Store{simsql.Store("db", "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO rows (body) VALUES ('old')", simsql.Options{})},
		Start: func(env *exactlyone.Env) exactlyone.Server {
			return simhttp.Serve(start(env, env.DB("db")))
		},
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Body: "b"}, Key: model.KeyToolCall}
		},
		Effects: simsql.Effects("db", "SELECT id, body FROM rows WHERE body <> 'old'"),
	}
}

func insert(ctx context.Context, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
},
) error {
	_, err := db.ExecContext(ctx, "INSERT INTO rows (body) VALUES ('b')")
	return err
}

// locksTwice locks a mutex that it holds, in a function that it calls.
func locksTwice() {
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
	locks(&mu)
}

func locks(mu sync.Locker) { mu.Lock() }

// waitsForOther starts a goroutine, which waits for it, and waits for that.
func waitsForOther() {
	a, b := make(chan int), make(chan int)
	go func() { b <- <-a }()
	a <- <-b
}

// group waits for all of its functions, as an errgroup does.
type group struct {
	wg  sync.WaitGroup
	err error
	mu  sync.Once
}

func (g *group) Go(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.mu.Do(func() { g.err = err })
		}
	})
}

func (g *group) Wait() error { g.wg.Wait(); return g.err }

// waits is handlers that wait for ever, and where.
var waits = map[string]struct {
	wait func(ctx context.Context, db *sql.DB)
	want string
}{
	"channel never sent": {
		func(context.Context, *sql.DB) { <-make(chan int) },
		"wait for another goroutine: chan receive in exactlyone_test.init.func#",
	},
	"no case": {
		func(context.Context, *sql.DB) { select {} },
		"wait for another goroutine: select (no cases) in exactlyone_test.init.func#",
	},
	"each other": {
		func(context.Context, *sql.DB) { waitsForOther() },
		"wait for another goroutine: chan receive in exactlyone_test.waitsForOther < exactlyone_test.init.func# < exactlyone_test.TestWaitsForEver.func#.#.# < net/http.HandlerFunc.ServeHTTP; chan receive in exactlyone_test.waitsForOther.func#",
	},
	"double lock": {
		func(context.Context, *sql.DB) { locksTwice() },
		"wait for a mutex: sync.Mutex.Lock in exactlyone_test.locks < exactlyone_test.locksTwice < exactlyone_test.init.func#",
	},
	"lock after read lock": {
		func(context.Context, *sql.DB) {
			var mu sync.RWMutex
			mu.RLock()
			defer mu.RUnlock()
			mu.Lock()
		},
		"wait for a mutex: sync.RWMutex.Lock in exactlyone_test.init.func#",
	},
	"read lock after lock": {
		func(context.Context, *sql.DB) {
			var mu sync.RWMutex
			mu.Lock()
			defer mu.Unlock()
			mu.RLock()
		},
		"wait for a mutex: sync.RWMutex.RLock in exactlyone_test.init.func#",
	},
	"wait group": {
		func(context.Context, *sql.DB) {
			var wg sync.WaitGroup
			wg.Add(1)
			wg.Wait()
		},
		"wait for another goroutine: sync.WaitGroup.Wait in exactlyone_test.init.func#",
	},
	"group": {
		func(_ context.Context, _ *sql.DB) {
			var g group
			found := make(chan int)
			for i := range 2 {
				g.Go(func() error { found <- i; return nil })
			}
			<-found
			_ = g.Wait()
		},
		"wait for another goroutine: chan send in exactlyone_test.init.func#.# < exactlyone_test.init.func#.(*group).Go.#; sync.WaitGroup.Wait in exactlyone_test.(*group).Wait < exactlyone_test.init.func#",
	},
	"once in itself": {
		func(context.Context, *sql.DB) {
			var once sync.Once
			once.Do(func() { once.Do(func() {}) })
		},
		"wait for a mutex: sync.Mutex.Lock in exactlyone_test.init.func#.# < exactlyone_test.init.func#",
	},
	"condition": {
		func(context.Context, *sql.DB) {
			c := sync.NewCond(new(sync.Mutex))
			c.L.Lock()
			c.Wait()
		},
		"wait for another goroutine: sync.Cond.Wait in exactlyone_test.init.func#",
	},
	"rows left open": {
		func(ctx context.Context, db *sql.DB) {
			db.SetMaxOpenConns(1)
			rows, err := db.QueryContext(ctx, "SELECT body FROM rows")
			if err != nil {
				panic(err)
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
				if err := insert(ctx, db); err != nil {
					panic(err)
				}
			}
		},
		"wait for another goroutine: select in database/sql.(*DB).conn",
	},
	"a transaction left open": {
		func(ctx context.Context, db *sql.DB) {
			db.SetMaxOpenConns(1)
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				panic(err)
			}
			defer func() { _ = tx.Rollback() }()
			if err := insert(ctx, db); err != nil {
				panic(err)
			}
		},
		"wait for another goroutine: select in database/sql.(*DB).conn",
	},
}

// TestWaitsForEver: a request that waits for ever is a finding that says where its
// goroutines stand, whatever else is judged.
func TestWaitsForEver(t *testing.T) {
	for name, tt := range waits {
		t.Run(name, func(t *testing.T) {
			sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) { tt.wait(r.Context(), db) }
			})
			sys.Properties = []props.Property{props.AtMostOne(), props.NoDeadlock()}
			r, err := exactlyone.Run(t.Context(), sys, calm, exactlyone.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != exactlyone.Violated || r.Story.Property != "no-deadlock" {
				t.Fatal(r.Verdict, r.Why)
			}
			got := regexp.MustCompile(` \(\w+\.go:\d+\)`).ReplaceAllString(r.Story.Message, "")
			got = regexp.MustCompile(`\d+`).ReplaceAllString(got, "#")
			if !strings.Contains(got, tt.want) || strings.Contains(got, "Opener") || strings.Contains(got, "awaitDone") {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if strings.Contains(r.Story.Message, "0x") {
				t.Errorf("an address: %s", r.Story.Message)
			}
		})
	}
}
