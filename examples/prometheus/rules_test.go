package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func (s scrape) value(t *testing.T, series string) (value float64, found bool) {
	t.Helper()
	selector, err := parser.ParseMetricSelector(series)
	require.NoError(t, err)
	samples := s.matching(selector)
	if len(samples) != 1 {
		return 0, false
	}
	value, err = strconv.ParseFloat(samples[0].value, 64)
	require.NoError(t, err)
	return value, true
}

// Alerts and dashboard use existing metrics: each expression is valid, and each selector in an expression matches a
// series of a scrape.
func TestRulesAndDashboardNameWhatIsScraped(t *testing.T) {
	scraped := lively(t)
	expressions := append(alerts(t), panels(t)...)
	require.Greater(t, len(expressions), 15)
	for _, text := range expressions {
		expression, err := parser.ParseExpr(text)
		require.NoError(t, err, text)
		selectors := parser.ExtractSelectors(expression)
		assert.NotEmpty(t, selectors, text)
		for _, selector := range selectors {
			var ours []*labels.Matcher // without the labels that Prometheus adds itself: job and instance
			for _, m := range selector {
				if m.Name == "__name__" || strings.HasPrefix(m.Name, "rowlock_") {
					ours = append(ours, m)
				}
			}
			assert.NotEmpty(t, scraped.matching(ours), "%v in %s", ours, text)
		}
	}
}

// The table of metrics in the documentation lists exactly the metrics that exist.
func TestDocumentedMetricsAreScraped(t *testing.T) {
	text, err := os.ReadFile("../../docs/observability.md")
	require.NoError(t, err)
	documented, scraped := map[string]bool{}, map[string]bool{}
	for _, found := range regexp.MustCompile("`rowlock\\.[a-z.]+` \\| `(rowlock_[a-z_]+)`").FindAllStringSubmatch(string(text), -1) {
		documented[found[1]] = true
	}
	all := lively(t)
	for _, one := range all {
		name := one.labels.Get("__name__")
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		if strings.HasPrefix(name, "rowlock_") {
			scraped[name] = true
		}
	}
	assert.Equal(t, scraped, documented)
	t.Log(len(all), "series")
}

// alerts returns the expressions of the alert rules. It also checks that each rule says what the alert means,
// and what to do.
func alerts(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/observability/alerts.yaml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))
	var all []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			assert.True(t, strings.HasPrefix(rule.Alert, "Rowlock"), rule.Alert)
			assert.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"], rule.Alert)
			assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			assert.NotEmpty(t, rule.Annotations["description"], rule.Alert)
			all = append(all, rule.Expr)
		}
	}
	return all
}

// panels returns the expressions of the dashboard, with Grafana's variables replaced.
func panels(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/observability/dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	var all []string
	for _, panel := range dashboard.Panels {
		assert.NotEmpty(t, panel.Description, panel.Title)
		for _, target := range panel.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "5m", "$job", ".*").Replace(target.Expr))
		}
	}
	return all
}
