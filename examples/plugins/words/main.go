// A plugin in Go: counts words and lines. Build it with `go build -o words .`
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Request is a line from the agent: init or call.
type Request struct {
	Type   string                     `json:"type"`
	Name   string                     `json:"name"`
	CallID string                     `json:"call_id"`
	Params map[string]json.RawMessage `json:"params"`
}

// Part is one piece of a result.
type Part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Reply is a line to the agent: init or result.
type Reply struct {
	Type    string `json:"type"`
	Tools   []Tool `json:"tools,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Content []Part `json:"content,omitempty"`
	IsError bool   `json:"is_error"`
}

// Tool tells the model about one tool.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

var countWords = Tool{
	Name:        "count_words",
	Description: "Count the lines and words of a text.",
	Parameters: map[string]any{
		"type":       "object",
		"properties": map[string]any{"text": map[string]any{"type": "string"}},
		"required":   []string{"text"},
	},
}

func answer(request Request) (string, error) {
	if request.Name != countWords.Name {
		return "", fmt.Errorf("there is no tool %q", request.Name)
	}
	var text string
	if err := json.Unmarshal(request.Params["text"], &text); err != nil {
		return "", fmt.Errorf("text must be a string: %w", err)
	}
	lines := strings.Count(text, "\n") + 1
	return fmt.Sprintf("%d lines, %d words", lines, len(strings.Fields(text))), nil
}

func main() {
	// A Decoder rather than a Scanner: a Scanner gives up on lines over 64 KB.
	requests := json.NewDecoder(bufio.NewReader(os.Stdin))
	replies := json.NewEncoder(os.Stdout)
	for {
		var request Request
		if err := requests.Decode(&request); err != nil {
			return
		}
		switch request.Type {
		case "init":
			replies.Encode(Reply{Type: "init", Tools: []Tool{countWords}})
		case "call":
			text, err := answer(request)
			if err != nil {
				text = err.Error()
			}
			parts := []Part{{Type: "text", Text: text}}
			replies.Encode(Reply{Type: "result", CallID: request.CallID, Content: parts, IsError: err != nil})
		}
	}
}
