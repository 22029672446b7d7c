package remove

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Entry is one line of a journal, JSON.
type Entry struct {
	Time   time.Time `json:"time"`
	Plan   string    `json:"plan"` // the plan's hash
	Node   string    `json:"node"`
	Event  Event     `json:"event"`
	Step   int       `json:"step,omitempty"`
	What   string    `json:"what,omitempty"` // the step's verb and arguments
	Detail string    `json:"detail,omitempty"`
}

// Event is what an entry tells. The list is closed.
type Event string

// The events. A begin without an end or a fail after it means that the step may
// have been done, in part or whole; a sent without what follows it, that the
// node's answer was not heard: any step may have been. Whoever reads the journal
// of a killed nestor learns that much, and no more is known.
const (
	Sent     Event = "sent"     // the steps are about to be sent; nothing was done yet
	Same     Event = "same"     // the node is as planned
	Differs  Event = "differs"  // it is not: nothing was done
	Begin    Event = "begin"    // a step begins
	End      Event = "end"      // it was done
	Failed   Event = "failed"   // it failed; none follows
	Stopped  Event = "stopped"  // the node refused before the first step
	NotSent  Event = "unsent"   // they never reached the node: nothing was done
	Lost     Event = "lost"     // the connection ended; detail says what is known
	Leftover Event = "leftover" // read back afterwards: this is still there
	Verified Event = "verified" // read back afterwards: nothing is left
	Reboot   Event = "reboot"   // the node was told to restart
)

// Journal says what was done, for whoever comes after an interruption. It is
// only appended to, and each entry is on the disk before anything follows it.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	now  func() time.Time
}

// OpenJournal opens a journal for appending, or makes it, readable by its owner
// alone.
func OpenJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others may read or write it (mode %o); chmod 600 %s", info.Mode().Perm(), path)
	}
	if err == nil {
		err = syncFolder(path) // else the file itself may be lost with the power
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	return &Journal{file: f, now: time.Now}, nil
}

func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// add writes an entry through to the disk.
func (j *Journal) add(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Time = j.now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Close closes the journal.
func (j *Journal) Close() error { return j.file.Close() }
