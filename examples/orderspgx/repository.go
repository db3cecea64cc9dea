// Package orderspgx is an example to copy: the OrderRepository of examples/orders, here on a pgx pool. It uses the same tables and
// types.
package orderspgx

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/examples/orders"
	"github.com/rowlock/rowlock/fence"
)

// OrderRepository stores orders in Postgres. It is safe for concurrent use.
type OrderRepository struct {
	pool  *pgxpool.Pool
	guard *fence.Guard
}

// NewOrderRepository stores orders in the database of the pool, with guard as the fence: fence.Pgx(pool).
func NewOrderRepository(pool *pgxpool.Pool, guard *fence.Guard) *OrderRepository {
	return &OrderRepository{pool: pool, guard: guard}
}

// Place writes a new order with its lines, in one batch. ctx must come from a lease. If that lease is not the newest,
// the error is fence.ErrStale, and nothing is written.
func (r *OrderRepository) Place(ctx context.Context, o orders.Order) error {
	return r.guard.TxPgx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue("INSERT INTO orders (id, customer, total) VALUES ($1, $2, 0)", o.ID, o.Customer)
		for i, line := range o.Lines {
			batch.Queue("INSERT INTO order_lines (order_id, line, product, quantity, price) VALUES ($1, $2, $3, $4, $5)",
				o.ID, i+1, line.Product, line.Quantity, line.Price)
			batch.Queue("UPDATE orders SET total = total + $2 WHERE id = $1", o.ID, line.Quantity*line.Price)
		}
		return tx.SendBatch(ctx, &batch).Close()
	})
}

// AddLine writes one more line of an order, and the order's new total. Errors are those of Place.
func (r *OrderRepository) AddLine(ctx context.Context, id int64, line orders.Line) error {
	return r.guard.TxPgx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var total, lines int64
		row := tx.QueryRow(ctx, "SELECT total, (SELECT count(*) FROM order_lines WHERE order_id = orders.id) FROM orders WHERE id = $1", id)
		if err := row.Scan(&total, &lines); err != nil {
			return fmt.Errorf("order %d: %w", id, err)
		}
		var batch pgx.Batch
		batch.Queue("INSERT INTO order_lines (order_id, line, product, quantity, price) VALUES ($1, $2, $3, $4, $5)",
			id, lines+1, line.Product, line.Quantity, line.Price)
		batch.Queue("UPDATE orders SET total = $2 WHERE id = $1", id, total+line.Quantity*line.Price)
		return tx.SendBatch(ctx, &batch).Close()
	})
}

// Find reads a committed order. It needs no lock. If there is no such order, the error is pgx.ErrNoRows.
func (r *OrderRepository) Find(ctx context.Context, id int64) (orders.Order, error) {
	o := orders.Order{ID: id}
	if err := r.pool.QueryRow(ctx, "SELECT customer, total FROM orders WHERE id = $1", id).Scan(&o.Customer, &o.Total); err != nil {
		return orders.Order{}, fmt.Errorf("order %d: %w", id, err)
	}
	rows, err := r.pool.Query(ctx, "SELECT product, quantity, price FROM order_lines WHERE order_id = $1 ORDER BY line", id)
	if err != nil {
		return orders.Order{}, err
	}
	o.Lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[orders.Line])
	return o, err
}
