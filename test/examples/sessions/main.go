// Prints whose each session is whose ID it reads, from memory: USHER_URL=... API_KEY=... go run .
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/url"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"shop/usherv1"
)

const (
	timeout        = 2 * time.Second
	maxKept        = 100_000
	keptFor        = 15 * time.Minute
	rememberedFor  = 20 * time.Minute
	defaultBound   = "2s" // 500ms to 5s
	defaultAddress = "http://localhost:8080"
)

type answer struct {
	session *usherv1.ActiveSession
	askedAt time.Time
}

type cutoff struct {
	at, learnedAt time.Time
}

type sessions struct {
	usher usherv1.SessionServiceClient
	bound time.Duration
	lock  sync.Mutex
	// By session ID. Live answers only.
	kept map[string]answer
	// By user ID.
	cutoffs             map[string]cutoff
	since               string
	knownAt, usableFrom time.Time
}

// Returns the session if it is live, else nil.
func (s *sessions) check(id string) (*usherv1.ActiveSession, error) {
	if session := s.find(id); session != nil {
		return session, nil
	}
	askedAt := time.Now()
	ctx, cancel := withKey(timeout)
	defer cancel()
	now := int32(0)
	reply, err := s.usher.CheckSession(ctx, &usherv1.CheckSessionRequest{SessionId: id, MaxStalenessMs: &now})
	if err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.kept, id)
	if !reply.GetActive() {
		return nil, nil
	}
	if len(s.kept) >= maxKept {
		s.kept = map[string]answer{}
	}
	s.kept[id] = answer{reply.GetSession(), askedAt}
	return reply.GetSession(), nil
}

// Returns the session if it may be answered from memory, else nil.
func (s *sessions) find(id string) *usherv1.ActiveSession {
	s.lock.Lock()
	defer s.lock.Unlock()
	known, found := s.kept[id]
	session := known.session
	switch {
	case !found,
		ageOf(s.knownAt) > s.bound,                                                 // rule 1
		!known.askedAt.After(s.usableFrom),                                         // rule 2
		!session.GetSignedInAt().AsTime().After(s.cutoffs[session.GetUserId()].at), // rule 3
		ageOf(known.askedAt) > keptFor,
		time.Now().After(session.GetExpiresAt().AsTime()):
		return nil
	}
	return session
}

func (s *sessions) keepAsking() {
	for {
		sentAt := time.Now()
		ctx, cancel := withKey(s.bound)
		reply, err := s.usher.ListRevocations(ctx, &usherv1.ListRevocationsRequest{Since: s.since})
		cancel()
		s.lock.Lock()
		if err == nil {
			s.learn(reply, sentAt)
		} else if status.Code(err) == codes.FailedPrecondition { // CURSOR_EXPIRED
			s.since = ""
			s.forgetAll()
		}
		s.lock.Unlock()
		time.Sleep(s.bound/4 - time.Since(sentAt))
	}
}

func (s *sessions) learn(reply *usherv1.ListRevocationsResponse, sentAt time.Time) {
	// The first answer of a chain tells nothing of what has ended before.
	if s.since == "" {
		s.forgetAll()
	}
	for _, each := range reply.GetRevocations() {
		if each.GetEveryUser() {
			s.forgetAll()
		}
		at := each.GetCutoffAt().AsTime()
		if known := s.cutoffs[each.GetUserId()].at; known.After(at) {
			at = known
		}
		s.cutoffs[each.GetUserId()] = cutoff{at, time.Now()}
	}
	for user, known := range s.cutoffs {
		if ageOf(known.learnedAt) > rememberedFor {
			delete(s.cutoffs, user)
		}
	}
	s.since, s.knownAt = reply.GetUntil(), sentAt
}

func (s *sessions) forgetAll() {
	s.kept = map[string]answer{}
	s.usableFrom = time.Now()
}

// The first clock stands still while the machine sleeps, and somebody may set the second one.
func ageOf(moment time.Time) time.Duration {
	age, byWall := time.Since(moment), time.Now().Round(0).Sub(moment.Round(0))
	if byWall > age {
		return byWall
	}
	return age
}

func withKey(timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-api-key", os.Getenv("API_KEY"))
	return context.WithTimeout(ctx, timeout)
}

func main() {
	usher, err := url.Parse(getenv("USHER_URL", defaultAddress))
	check(err)
	bound, err := time.ParseDuration(getenv("BOUND", defaultBound))
	check(err)
	transport := grpc.WithInsecure()
	if usher.Scheme == "https" {
		transport = grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(nil, ""))
	}
	connection, err := grpc.Dial("dns:///"+usher.Host, transport)
	check(err)
	all := &sessions{usher: usherv1.NewSessionServiceClient(connection), bound: bound, cutoffs: map[string]cutoff{}}
	all.forgetAll()
	go all.keepAsking()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		session, err := all.check(lines.Text())
		switch {
		case err != nil:
			fmt.Println(status.Code(err))
		case session == nil:
			fmt.Println("signed out")
		default:
			fmt.Println(session.GetUserId())
		}
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
