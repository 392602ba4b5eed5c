// Signs users in with Usher over OpenID Connect: USHER_URL=... CLIENT_ID=... API_KEY=... go run .
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var (
	usherURL = getenv("USHER_URL", "http://localhost:8080")
	port     = getenv("PORT", "3000")
	ownURL   = "http://127.0.0.1:" + port
	config   = oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("API_KEY"),
		RedirectURL:  ownURL + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}
	provider *oidc.Provider
	// People by a random ID of the browser. A service keeps them in its database, under `Subject`: addresses change.
	people sync.Map
)

type person struct {
	Subject string `json:"sub"`
	Email   string `json:"email"`
	idToken string
}

func main() {
	var err error
	provider, err = oidc.NewProvider(context.Background(), usherURL)
	check(err)
	config.Endpoint = provider.Endpoint()
	http.HandleFunc("/", showPerson)
	http.HandleFunc("/login", startLogin)
	http.HandleFunc("/callback", finishLogin)
	http.HandleFunc("/logout", logOut)
	fmt.Println(ownURL)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}

func showPerson(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "text/html; charset=utf-8")
	if who, ok := people.Load(cookie(r, "browser")); ok {
		fmt.Fprintf(w, `Signed in as %s <form method="post" action="/logout"><button>Sign out</button></form>`,
			html.EscapeString(who.(person).Email))
		return
	}
	fmt.Fprint(w, `<a href="/login">Sign in</a>`)
}

func startLogin(w http.ResponseWriter, r *http.Request) {
	state, nonce, verifier := random(), random(), random()
	digest := sha256.Sum256([]byte(verifier))
	setCookie(w, "login", strings.Join([]string{state, nonce, verifier}, "."), 1800)
	http.Redirect(w, r, config.AuthCodeURL(state, oidc.Nonce(nonce),
		oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(digest[:])),
		oauth2.SetAuthURLParam("code_challenge_method", "S256")), http.StatusSeeOther)
}

func finishLogin(w http.ResponseWriter, r *http.Request) {
	login, query := strings.Split(cookie(r, "login"), "."), r.URL.Query()
	if len(login) != 3 || query.Get("state") != login[0] {
		http.Error(w, "Another login", http.StatusBadRequest)
		return
	}
	setCookie(w, "login", "", -1)
	// There is none if the user has cancelled.
	if code := query.Get("code"); code != "" {
		who, err := redeem(r.Context(), code, login[1], login[2])
		if err != nil {
			log.Print(err)
			http.Error(w, "The sign-in has failed", http.StatusBadGateway)
			return
		}
		browser := random()
		people.Store(browser, who)
		setCookie(w, "browser", browser, 12*60*60)
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func redeem(ctx context.Context, code, nonce, verifier string) (who person, err error) {
	token, err := config.Exchange(ctx, code, oauth2.SetAuthURLParam("code_verifier", verifier))
	if err != nil {
		return who, err
	}
	who.idToken, _ = token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, who.idToken)
	if err != nil {
		return who, err
	}
	if idToken.Nonce != nonce {
		return who, errors.New("another nonce")
	}
	return who, idToken.Claims(&who)
}

// Signs out here and at Usher, which leads back if the address is one of the application's `postLogoutRedirectUris`.
func logOut(w http.ResponseWriter, r *http.Request) {
	who, ok := people.LoadAndDelete(cookie(r, "browser"))
	if r.Method != http.MethodPost || !ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	query := url.Values{"id_token_hint": {who.(person).idToken}, "post_logout_redirect_uri": {ownURL + "/"}}
	http.Redirect(w, r, strings.TrimSuffix(usherURL, "/")+"/oidc/logout?"+query.Encode(), http.StatusSeeOther)
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
