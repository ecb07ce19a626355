package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// workRevision is the revision given or, from git, that of the code in the working
// directory: HEAD and, if tracked files were changed, a plus sign and a hash of the change.
// Files that git does not track are not seen. It is empty outside of git.
func workRevision(cmd *cobra.Command, given string) string {
	head := revision(cmd, given)
	if head == "" || cmd.Flags().Changed("rev") {
		return head
	}
	diff, err := gitCommand(cmd.Context(), "diff", "--no-ext-diff", "--no-color", "--binary", "HEAD").Output()
	if err != nil {
		return ""
	}
	if strings.TrimSpace(string(diff)) == "" {
		return head
	}
	return fmt.Sprintf("%s+%x", head, sha256.Sum256(diff))[:len(head)+1+8]
}
