//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

// alive takes every process to be there.
func alive(int) bool { return true }
