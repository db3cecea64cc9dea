package orders

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rowlock/rowlock/fence"
)

// OrderRepository stores orders. It is safe for concurrent use.
type OrderRepository struct {
	db    *sql.DB
	guard *fence.Guard
	bind  func(string) string
}

// NewOrderRepository stores orders in db, with guard as the fence. bind replaces each "?" in a statement with the
// parameter syntax of the driver, for example $1 and $2 for Postgres.
func NewOrderRepository(db *sql.DB, guard *fence.Guard, bind func(string) string) *OrderRepository {
	return &OrderRepository{db: db, guard: guard, bind: bind}
}

// Place writes a new order with its lines. ctx must come from a lease. If that lease is not the newest, the error is
// fence.ErrStale, and nothing is written.
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

// AddLine writes one more line of an order, and the order's new total. Errors are those of Place.
func (r *OrderRepository) AddLine(ctx context.Context, id int64, line Line) error {
	return r.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return r.addLine(ctx, tx, id, line)
	})
}

// addLine reads the order's total, and writes a new total that it computes from the old total. Without the fence,
// a holder that was suspended between the read and the write would overwrite its successor's total.
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

// Find reads a committed order. It needs no lock. If there is no such order, the error is sql.ErrNoRows.
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
