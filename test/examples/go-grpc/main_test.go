// Tests the application with the real Usher: go test
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What npx usher-testing prints when it is ready.
var usher struct{ URL, ControlURL, ControlKey string }

func TestMain(m *testing.M) {
	process := exec.Command("npx", "usher-testing")
	// With a pipe for its input, it ends with the tests, however these end.
	input, err := process.StdinPipe()
	check(err)
	output, err := process.StdoutPipe()
	check(err)
	check(process.Start())
	line, err := bufio.NewReader(output).ReadBytes('\n')
	check(err)
	check(json.Unmarshal(line, &usher))

	shop := control("/create-application", `{"redirectUris":["http://127.0.0.1/callback"]}`)
	os.Setenv("CLIENT_ID", shop["clientId"].(string))
	os.Setenv("API_KEY", shop["apiKey"].(string))
	usherURL = usher.URL
	auth = connect()
	server := httptest.NewServer(routes())
	appURL = server.URL

	code := m.Run()
	server.Close()
	input.Close()
	process.Wait()
	os.Exit(code)
}

func TestSignIn(t *testing.T) {
	browser := newBrowser()
	expect(t, browser.read(appURL), "Sign in")
	_, authURL := browser.open(appURL + "/login")
	answer := control("/sign-in", toJSON(map[string]string{"authUrl": authURL, "user": "ada@example.com"}))
	browser.open(answer["redirectUrl"].(string))
	expect(t, browser.read(appURL), "Signed in as ada@example.com")
}

func TestLoginOfSomebodyElse(t *testing.T) {
	_, authURL := newBrowser().open(appURL + "/login")
	answer := control("/sign-in", toJSON(map[string]string{"authUrl": authURL, "user": "eve@example.com"}))
	browser := newBrowser()
	browser.open(appURL + "/login")
	text, _ := browser.open(answer["redirectUrl"].(string))
	expect(t, text, "Another login")
	expect(t, browser.read(appURL), "Sign in")
}

func TestLoginThatTakesTooLong(t *testing.T) {
	_, authURL := newBrowser().open(appURL + "/login")
	control("/clock/advance", `{"duration":"31m"}`)
	answer := control("/sign-in", toJSON(map[string]string{"authUrl": authURL, "user": "ada@example.com"}))
	if answer["reason"] != "LOGIN_INTENT_EXPIRED" {
		t.Fatal(answer)
	}
}

// Calls a member of the package on the control port.
func control(path string, parameters string) map[string]interface{} {
	request, err := http.NewRequest("POST", usher.ControlURL+path, strings.NewReader(parameters))
	check(err)
	request.Header.Set("Authorization", "Bearer "+usher.ControlKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	var answer map[string]interface{}
	check(json.NewDecoder(response.Body).Decode(&answer))
	return answer
}

func toJSON(value interface{}) string {
	var buffer bytes.Buffer
	check(json.NewEncoder(&buffer).Encode(value))
	return buffer.String()
}

// Keeps cookies, and follows no redirect.
type browser struct{ http.Client }

func newBrowser() *browser {
	jar, err := cookiejar.New(nil)
	check(err)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{http.Client{Jar: jar, CheckRedirect: stay}}
}

// Returns the text, and where the page redirects to.
func (b *browser) open(url string) (string, string) {
	response, err := b.Get(url)
	check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	return string(text), response.Header.Get("Location")
}

func (b *browser) read(url string) string {
	text, _ := b.open(url)
	return text
}

func expect(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q does not contain %q", text, part)
	}
}
