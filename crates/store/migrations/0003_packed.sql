-- How a body is stored: NULL as it came, 1 as an LZ4 block after its size. The value stands in the
-- row's header, so that it is known without reading to the end of the body.

ALTER TABLE event ADD COLUMN packed INTEGER;
ALTER TABLE snapshot ADD COLUMN packed INTEGER;
