package deploy_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// cronJob has the fields of batch/v1 that cronjob.yaml uses, spelled as in k8s.io/api. The test does not import
// k8s.io/api, because compiling it takes longer than compiling all other examples together.
type cronJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   name   `yaml:"metadata"`
	Spec       struct {
		Schedule                string `yaml:"schedule"`
		ConcurrencyPolicy       string `yaml:"concurrencyPolicy"`
		StartingDeadlineSeconds int    `yaml:"startingDeadlineSeconds"`
		JobTemplate             struct {
			Spec job `yaml:"spec"`
		} `yaml:"jobTemplate"`
	} `yaml:"spec"`
}

type name struct {
	Name string `yaml:"name"`
}

type job struct {
	BackoffLimit     int `yaml:"backoffLimit"`
	PodFailurePolicy struct {
		Rules []struct {
			Action          string              `yaml:"action"`
			OnPodConditions []map[string]string `yaml:"onPodConditions"`
			OnExitCodes     struct {
				ContainerName string `yaml:"containerName"`
				Operator      string `yaml:"operator"`
				Values        []int  `yaml:"values"`
			} `yaml:"onExitCodes"`
		} `yaml:"rules"`
	} `yaml:"podFailurePolicy"`
	Template struct {
		Spec pod `yaml:"spec"`
	} `yaml:"template"`
}

type pod struct {
	RestartPolicy                 string      `yaml:"restartPolicy"`
	TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
	Containers                    []container `yaml:"containers"`
}

type container struct {
	Name    string   `yaml:"name"`
	Image   string   `yaml:"image"`
	Command []string `yaml:"command"`
	Env     []struct {
		Name      string                       `yaml:"name"`
		ValueFrom map[string]map[string]string `yaml:"valueFrom"`
	} `yaml:"env"`
}

func readCronJob(t *testing.T) (j cronJob) {
	t.Helper()
	text, err := os.ReadFile("cronjob.yaml")
	require.NoError(t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&j))
	require.Equal(t, "batch/v1 CronJob", j.APIVersion+" "+j.Kind)
	return j
}
