// Signs a user in with go-oidc: prints the URL to open, reads where the browser was sent, prints what it has learned as
// JSON.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func main() {
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	check(err)
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		RedirectURL:  os.Getenv("CALLBACK"),
		Endpoint:     provider.Endpoint(),
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
	}
	state, nonce, verifier := random(), random(), random()
	digest := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	param := oauth2.SetAuthURLParam
	fmt.Println(config.AuthCodeURL(state, oidc.Nonce(nonce), param("code_challenge", challenge), param("code_challenge_method", "S256")))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	answer, err := url.Parse(strings.TrimSpace(line))
	check(err)
	if answer.Query().Get("state") != state {
		panic("another state")
	}

	token, err := config.Exchange(ctx, answer.Query().Get("code"), param("code_verifier", verifier))
	check(err)
	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, raw)
	check(err)
	if idToken.Nonce != nonce {
		panic("another nonce")
	}
	var claims map[string]interface{}
	check(idToken.Claims(&claims))
	// A token that has expired is refreshed when it is used.
	token.Expiry = time.Unix(1, 0)
	source := config.TokenSource(ctx, token)
	refreshed, err := source.Token()
	check(err)
	userinfo, err := provider.UserInfo(ctx, source)
	check(err)
	var profile map[string]interface{}
	check(userinfo.Claims(&profile))
	check(json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"claims": claims, "userinfo": profile, "refreshed": refreshed.Valid() && refreshed.RefreshToken == token.RefreshToken,
	}))
}

func random() string {
	bytes := make([]byte, 32)
	_, err := rand.Read(bytes)
	check(err)
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
