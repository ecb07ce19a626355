package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"exactlyone"
)

func newList() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the built-in writers",
		Example: "  explore list\n  explore list --format json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := parseFormat(format, formats); err != nil {
				return err
			}
			type writer struct {
				Name  string `json:"name"`
				Key   string `json:"key"`
				About string `json:"about"`
			}
			var all []writer
			for _, b := range exactlyone.Builtins {
				all = append(all, writer{b.Name, string(b.DefaultKey()), b.About})
			}
			if format == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(map[string]any{"writers": all, "stores": stores})
			}
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(tw, "WRITER\tKEY\tWHAT IT DOES")
			for _, w := range all {
				_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\n", w.Name, w.Key, w.About)
			}
			return tw.Flush()
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}
