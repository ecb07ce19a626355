package ingest
func startsTAP(line []byte) bool { return false }
