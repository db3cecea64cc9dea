package mysqlock

import (
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) {
	_ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // ignores the driver's log message about each connection that is reset
	leaks.Main(m)
}
