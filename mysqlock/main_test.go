package mysqlock

import (
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) {
	_ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // it reports each connection that is cut
	leaks.Main(m)
}
