module words

go 1.21
