package exactlyone
import ("testing";"context";"os";"fmt")
func TestTmp(t *testing.T) {
	for _, bi := range Builtins {
		for _, b := range []Bounds{{}, {Clients:1}, {Crashes: None, LostAnswers: None, Duplicates: 1, CommitFaults: 1}} {
			res, err := Run(context.Background(), bi.System(bi.DefaultKey()), b, Options{})
			if err != nil { t.Fatal(err) }
			res.WriteText(os.Stdout, TextOptions{Replay: "x"})
			fmt.Println("==========")
		}
	}
}
