module example.org/words

go 1.26.0
