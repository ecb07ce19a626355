// Package ingest asks: which test ran in this report, and how did each attempt end?
package ingest
