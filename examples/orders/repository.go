package orders

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rowlock/rowlock/fence"
)

// OrderRepository keeps orders. It is safe for concurrent use.
type OrderRepository struct {
	db    *sql.DB
	guard *fence.Guard
	bind  func(string) string
}

// NewOrderRepository keeps orders in db, which guard guards. bind writes the parameters of a statement,
// each a "?", as the driver wants them: on Postgres as $1, $2.
func NewOrderRepository(db *sql.DB, guard *fence.Guard, bind func(string) string) *OrderRepository {
	return &OrderRepository{db: db, guard: guard, bind: bind}
}

// Place writes a new order with its lines. ctx must be that of a lease; a lease that is not the newest
// gets fence.ErrStale, and nothing is written.
func (r *OrderRepository) Place(ctx context.Context, o Order) error {
	return r.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := r.exec(ctx, tx, "INSERT INTO orders (id, customer, total) VALUES (?, ?, 0)", o.ID, o.Customer); err != nil {
			return err
		}
		for _, line := range o.Lines {
			if err := r.addLine(ctx, tx, o.ID, line); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddLine writes one more line of an order, and its new total. Errors are those of Place.
func (r *OrderRepository) AddLine(ctx context.Context, id int64, line Line) error {
	return r.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return r.addLine(ctx, tx, id, line)
	})
}

// addLine reads a total, and writes what it computed from it: without the fence a holder that was
// paused in between would undo what its successor wrote.
func (r *OrderRepository) addLine(ctx context.Context, tx *sql.Tx, id int64, line Line) error {
	var total, lines int64
	row := tx.QueryRowContext(ctx, r.bind("SELECT total, (SELECT count(*) FROM order_lines WHERE order_id = orders.id) FROM orders WHERE id = ?"), id)
	if err := row.Scan(&total, &lines); err != nil {
		return fmt.Errorf("order %d: %w", id, err)
	}
	if err := r.exec(ctx, tx, "INSERT INTO order_lines (order_id, line, product, quantity, price) VALUES (?, ?, ?, ?, ?)",
		id, lines+1, line.Product, line.Quantity, line.Price); err != nil {
		return err
	}
	return r.exec(ctx, tx, "UPDATE orders SET total = ? WHERE id = ?", total+line.Quantity*line.Price, id)
}

func (r *OrderRepository) exec(ctx context.Context, tx *sql.Tx, statement string, args ...any) error {
	_, err := tx.ExecContext(ctx, r.bind(statement), args...)
	return err
}

// Find reads an order as it is committed. It needs no lock, and sql.ErrNoRows says that there is none.
func (r *OrderRepository) Find(ctx context.Context, id int64) (Order, error) {
	o := Order{ID: id}
	if err := r.db.QueryRowContext(ctx, r.bind("SELECT customer, total FROM orders WHERE id = ?"), id).Scan(&o.Customer, &o.Total); err != nil {
		return Order{}, fmt.Errorf("order %d: %w", id, err)
	}
	rows, err := r.db.QueryContext(ctx, r.bind("SELECT product, quantity, price FROM order_lines WHERE order_id = ? ORDER BY line"), id)
	if err != nil {
		return Order{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var line Line
		if err := rows.Scan(&line.Product, &line.Quantity, &line.Price); err != nil {
			return Order{}, err
		}
		o.Lines = append(o.Lines, line)
	}
	return o, rows.Err()
}
