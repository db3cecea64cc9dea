package mysqlock

import (
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // it reports each connection that is cut
	goleak.VerifyTestMain(m)
}
