-- +goose Up
CREATE TABLE visits (n INTEGER NOT NULL);

-- +goose Down
DROP TABLE visits;
