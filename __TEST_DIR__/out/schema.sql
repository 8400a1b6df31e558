CREATE TABLE "p" (
    "id" INTEGER,
    "st" STRUCT(b VARCHAR) DEFAULT CAST(({'a': 1, 'b': 'q'}) AS STRUCT(b VARCHAR)),
    "l" STRUCT(y INTEGER)[] DEFAULT CAST(([{'x': 1, 'y': 2}]) AS STRUCT(y INTEGER)[])
);
