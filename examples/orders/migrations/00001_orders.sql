-- +goose Up

CREATE TABLE orders (
    id       BIGINT       NOT NULL PRIMARY KEY,
    customer VARCHAR(200) NOT NULL,
    total    BIGINT       NOT NULL -- in cents, the sum of its lines
);

CREATE TABLE order_lines (
    order_id BIGINT       NOT NULL,
    line     INT          NOT NULL, -- from 1
    product  VARCHAR(200) NOT NULL,
    quantity BIGINT       NOT NULL,
    price    BIGINT       NOT NULL, -- in cents, for one item
    PRIMARY KEY (order_id, line),
    FOREIGN KEY (order_id) REFERENCES orders (id)
);

-- +goose Down

DROP TABLE order_lines;
DROP TABLE orders;
