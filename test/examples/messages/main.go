// Prints the messages of an application as they come: USHER_URL=... API_KEY=... go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math/rand"
	"net/url"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"shop/usherv1"
)

const maxWait = 30 * time.Second

var cursorFile = getenv("CURSOR_FILE", "cursor")

func main() {
	usher, err := url.Parse(getenv("USHER_URL", "http://localhost:8080"))
	check(err)
	transport := grpc.WithInsecure()
	if usher.Scheme == "https" {
		transport = grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(nil, ""))
	}
	// Pings notice a connection that is lost.
	pings := grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second})
	connection, err := grpc.Dial("dns:///"+usher.Host, transport, pings)
	check(err)
	messages := usherv1.NewMessageServiceClient(connection)
	for wait := 500 * time.Millisecond; ; {
		started := time.Now()
		err := watch(messages)
		log.Print(err)
		switch status.Code(err) {
		case codes.FailedPrecondition, codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
			os.Exit(1)
		}
		// A stream ends after 30 minutes, and when Usher restarts.
		if wait *= 2; wait > maxWait {
			wait = maxWait
		}
		if time.Since(started) > maxWait {
			wait = 500 * time.Millisecond
		}
		time.Sleep(time.Duration(rand.Int63n(int64(wait))))
	}
}

// Reads one stream from the stored cursor, and returns why it has ended.
func watch(messages usherv1.MessageServiceClient) error {
	cursor, err := os.ReadFile(cursorFile)
	if errors.Is(err, fs.ErrNotExist) {
		cursor = []byte("oldest")
	} else {
		check(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", os.Getenv("API_KEY"))
	stream, err := messages.WatchMessages(ctx, &usherv1.WatchMessagesRequest{Cursor: string(cursor)})
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, message := range response.GetMessages() {
			// A message may come again: handle each ID once.
			data, err := message.GetData().MarshalJSON()
			check(err)
			fmt.Println(message.GetMessageId(), message.GetType(), string(data))
		}
		// A service keeps it in its database, in the transaction that has the effects of the messages.
		check(os.WriteFile(cursorFile+".new", []byte(response.GetCursor()), 0o600))
		check(os.Rename(cursorFile+".new", cursorFile))
	}
}

func getenv(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
