// Renders a chart as `helm template` does, for machines that have no helm: with Go's template engine and sprig, which is what
// helm itself uses, and with those of helm's own functions that the chart needs.
//
//	render CHART RELEASE NAMESPACE < values.json
//
// The values are laid over those of the chart's values.yaml. Everything is printed as one stream of YAML documents.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

// Files of the chart that are no templates, as helm's `.Files`.
type Files struct{ root string }

func (files Files) Get(path string) string {
	content, err := os.ReadFile(filepath.Join(files.root, path))
	if err != nil {
		return ""
	}
	return string(content)
}

func main() {
	chart, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	description, values := object{}, object{}
	readYaml(filepath.Join(chart, "Chart.yaml"), &description)
	readYaml(filepath.Join(chart, "values.yaml"), &values)
	given := object{}
	input, err := io.ReadAll(os.Stdin)
	must(err)
	must(json.Unmarshal(input, &given))

	engine := template.New("chart").Option("missingkey=zero")
	engine.Funcs(functions(engine))
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	sort.Strings(paths)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		must(err)
		_, err = engine.New(filepath.Base(path)).Parse(string(content))
		must(err)
	}
	scope := object{
		"Values":  overlay(values, given),
		"Release": object{"Name": release, "Namespace": namespace, "Service": "Helm", "IsInstall": true, "Revision": 1},
		// helm gives the fields of Chart.yaml with a capital.
		"Chart": capitalised(description),
		"Files": Files{chart},
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		text := execute(engine, name, scope)
		// What helm prints for a person, and fails by as well.
		if name != "NOTES.txt" && strings.TrimSpace(text) != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, text)
		}
	}
}

func functions(engine *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	// As in helm: a chart learns nothing of the machine.
	delete(all, "env")
	delete(all, "expandenv")
	all["include"] = func(name string, scope interface{}) string { return execute(engine, name, scope) }
	all["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	all["fromYaml"] = func(text string) object {
		value := object{}
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			value["Error"] = err.Error()
		}
		return value
	}
	all["required"] = func(words string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, errors.New(words)
		}
		return value, nil
	}
	return all
}

func execute(engine *template.Template, name string, scope interface{}) string {
	var text bytes.Buffer
	must(engine.ExecuteTemplate(&text, name, scope))
	return strings.ReplaceAll(text.String(), "<no value>", "")
}

// Mappings are laid over each other key by key, null removes a key, and anything else takes the place of what was there.
func overlay(base, over object) object {
	merged := object{}
	for key, value := range base {
		merged[key] = value
	}
	for key, value := range over {
		inner, isObject := value.(object)
		under, wasObject := merged[key].(object)
		switch {
		case value == nil:
			delete(merged, key)
		case isObject && wasObject:
			merged[key] = overlay(under, inner)
		default:
			merged[key] = value
		}
	}
	return merged
}

func capitalised(fields object) object {
	named := object{}
	for key, value := range fields {
		named[strings.ToUpper(key[:1])+key[1:]] = value
	}
	return named
}

func readYaml(path string, value *object) {
	content, err := os.ReadFile(path)
	must(err)
	must(yaml.Unmarshal(content, value))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
