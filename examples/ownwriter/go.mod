module example.com/ownwriter

go 1.26.0

require exactlyone v0.0.0

replace exactlyone => ../..
