// Signs users in with Usher over gRPC: USHER_URL=... CLIENT_ID=... API_KEY=... go run .
package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"html"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"shop/usherv1"
)

var (
	usherURL = getenv("USHER_URL", "http://localhost:8080")
	appURL   = "http://127.0.0.1:" + getenv("PORT", "3000")
	auth     usherv1.AuthServiceClient
	// Users by a random ID of the browser. A service keeps them in its database, under the ID of the user.
	people sync.Map
)

func main() {
	auth = connect()
	app, err := url.Parse(appURL)
	check(err)
	fmt.Println(appURL)
	log.Fatal(http.ListenAndServe(app.Host, routes()))
}

func connect() usherv1.AuthServiceClient {
	usher, err := url.Parse(usherURL)
	check(err)
	transport := grpc.WithInsecure()
	if usher.Scheme == "https" {
		transport = grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(nil, ""))
	}
	connection, err := grpc.Dial("dns:///"+usher.Host, transport)
	check(err)
	return usherv1.NewAuthServiceClient(connection)
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", showUser)
	mux.HandleFunc("/login", startLogin)
	mux.HandleFunc("/callback", finishLogin)
	return mux
}

func showUser(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "text/html; charset=utf-8")
	if user, ok := people.Load(cookie(r, "browser")); ok {
		fmt.Fprint(w, "Signed in as ", html.EscapeString(user.(*usherv1.UserProfile).GetEmail()))
		return
	}
	fmt.Fprint(w, `<a href="/login">Sign in</a>`)
}

func startLogin(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := call(r)
	defer cancel()
	state := random()
	reply, err := auth.GenerateAuthUrl(ctx, &usherv1.GenerateAuthUrlRequest{
		ClientId: os.Getenv("CLIENT_ID"), RedirectUri: appURL + "/callback", State: state,
	})
	if err != nil {
		fail(w, err)
		return
	}
	setCookie(w, "state", state, 1800)
	http.Redirect(w, r, reply.GetAuthUrl(), http.StatusSeeOther)
}

func finishLogin(w http.ResponseWriter, r *http.Request) {
	query, state := r.URL.Query(), cookie(r, "state")
	isOwn := state != "" && subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) == 1
	if !isOwn || query.Get("iss") != usherURL {
		http.Error(w, "Another login", http.StatusBadRequest)
		return
	}
	setCookie(w, "state", "", -1)
	// There is none if the user has cancelled.
	if token := query.Get("authToken"); token != "" {
		ctx, cancel := call(r)
		defer cancel()
		reply, err := auth.ExchangeToken(ctx, &usherv1.ExchangeTokenRequest{AuthToken: token})
		if err != nil {
			fail(w, err)
			return
		}
		browser := random()
		people.Store(browser, reply.GetUser()) // Its ID stays the same; the address may change.
		setCookie(w, "browser", browser, 900)
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func call(r *http.Request) (context.Context, context.CancelFunc) {
	ctx := metadata.AppendToOutgoingContext(r.Context(), "x-api-key", os.Getenv("API_KEY"))
	return context.WithTimeout(ctx, 5*time.Second)
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, "The sign-in is not available", http.StatusServiceUnavailable)
}

func setCookie(w http.ResponseWriter, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func cookie(r *http.Request, name string) string {
	if found, err := r.Cookie(name); err == nil {
		return found.Value
	}
	return ""
}

func random() string {
	bytes := make([]byte, 32)
	_, err := rand.Read(bytes)
	check(err)
	return base64.RawURLEncoding.EncodeToString(bytes)
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
