-- +goose Up
INSERT INTO visits (n) VALUES (1);

-- +goose Down
DELETE FROM visits WHERE n = 1;
