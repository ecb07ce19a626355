package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"exactlyone"
)

func newMatrix() *cobra.Command {
	var format, store string
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Print how many reports each writer leaves after each mishap",
		Long: `Matrix prints the published table: how many reports one operation leaves, by
writer and key source, after five mishaps, each at its published point (a crash
strikes after the first commit of the request). Beside it stands the worst case
over all schedules within the bounds: one client (two for concurrent
duplicates), two attempts each (one for agents), two clock jumps, and the one
fault of the column. A cell whose published point was luck is marked.`,
		Example: `  explore matrix
  explore matrix --store sqlite
  explore matrix --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := parseFormat(format, formats); err != nil {
				return err
			}
			open, err := backend(store)
			if err != nil {
				return err
			}
			rows, err := exactlyone.Matrix(cmd.Context(), open)
			if err != nil {
				return err
			}
			if format == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(map[string]any{"columns": exactlyone.MatrixColumns, "rows": rows})
			}
			return writeMatrix(cmd.OutOrStdout(), rows)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().StringVar(&store, "store", "memory", "what carries out the statements: "+strings.Join(stores, ", "))
	complete(cmd, "format", "text", "json")
	complete(cmd, "store", stores...)
	return cmd
}

func writeMatrix(out io.Writer, rows []exactlyone.MatrixRow) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var head strings.Builder
	head.WriteString("WRITER\tKEY")
	for i := range exactlyone.MatrixColumns {
		head.WriteString(fmt.Sprintf("\t(%d)", i+1))
	}
	_, _ = fmt.Fprintln(tw, head.String())
	lucky := false
	for _, r := range rows {
		var line strings.Builder
		line.WriteString(fmt.Sprintf("%s\t%s", r.Writer, r.Key))
		for c := range exactlyone.MatrixColumns {
			line.WriteString(fmt.Sprintf("\t%d", r.Published[c]))
			if r.Lucky(c) {
				lucky = true
				line.WriteString(fmt.Sprintf(" *%d", r.Worst[c]))
			}
		}
		_, _ = fmt.Fprintln(tw, line.String())
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	for i, c := range exactlyone.MatrixColumns {
		_, _ = fmt.Fprintf(out, "(%d) %s\n", i+1, c)
	}
	text := "\nReports left by one operation, at the published point and in the worst case over\nall schedules within the bounds: the two are equal but for the cells with a star.\n"
	if lucky {
		text += "\n* the published point was luck: the number after the star is the worst case.\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
