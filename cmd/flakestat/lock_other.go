//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

// lock keeps nobody out here.
func lock(string) (unlock func(), err error) { return func() {}, nil }
