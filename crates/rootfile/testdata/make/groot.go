// Makes by_groot.root: go run groot.go FOLDER, in a module that has go-hep.org/x/hep v0.32.0.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"go-hep.org/x/hep/groot"
	"go-hep.org/x/hep/groot/rbase"
	"go-hep.org/x/hep/groot/rhist"
	"go-hep.org/x/hep/groot/riofs"
	"go-hep.org/x/hep/groot/root"
	"go-hep.org/x/hep/groot/rtree"
	"go-hep.org/x/hep/hbook"
)

type flat struct {
	I8   int8            `groot:"i8"`
	U64  uint64          `groot:"u64"`
	F32  float32         `groot:"f32"`
	D16  root.Float16    `groot:"d16"`
	D32  root.Double32   `groot:"d32"`
	Text string          `groot:"text"`
	Bool bool            `groot:"bool"`
	Grid [2][3]float64   `groot:"grid"`
	N    int32           `groot:"n"`
	Run  []int32         `groot:"run[n]"`
	Real []root.Double32 `groot:"real[n]"`
}

type point struct {
	X float32 `groot:"x"`
	Y float64 `groot:"y"`
}

type objects struct {
	Point  point     `groot:"point"`
	Floats []float32 `groot:"floats"`
	Texts  []string  `groot:"texts"`
	Points []point   `groot:"points"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func fill(file *riofs.File, name string, entries int, entry any, set func(i int)) {
	vars := rtree.WriteVarsFromStruct(entry)
	tree, err := rtree.NewWriter(file, name, vars, rtree.WithBasketSize(300))
	check(err)
	for i := 0; i < entries; i++ {
		set(i)
		_, err := tree.Write()
		check(err)
	}
	check(tree.Close())
}

func main() {
	file, err := groot.Create(filepath.Join(os.Args[1], "by_groot.root"))
	check(err)
	var f flat
	fill(file, "flat", 40, &f, func(i int) {
		f = flat{I8: int8(-i), U64: uint64(i) << 40, F32: float32(i) / 3, D16: root.Float16(i), D32: root.Double32(i),
			Text: fmt.Sprintf("%0*d", i*10, i), Bool: i%2 == 0, N: int32(i % 4)}
		f.Grid[1][2] = float64(i)
		for j := 0; j < int(f.N); j++ {
			f.Run, f.Real = append(f.Run, int32(i*j)), append(f.Real, root.Double32(j))
		}
	})
	var o objects
	fill(file, "objects", 20, &o, func(i int) {
		o = objects{Point: point{float32(i), float64(2 * i)}}
		for j := 0; j < i%4; j++ {
			o.Floats, o.Texts = append(o.Floats, float32(i)), append(o.Texts, fmt.Sprint(j))
			o.Points = append(o.Points, point{float32(i), float64(j)})
		}
	})
	counts := hbook.NewH1D(5, -1, 1)
	counts.Fill(0.1, 1.5)
	check(file.Put("counts", rhist.NewH1DFrom(counts)))
	points := hbook.NewS2D(hbook.Point2D{X: 1, Y: 2, ErrX: hbook.Range{Min: 1, Max: 2}}, hbook.Point2D{X: 3, Y: 4})
	check(file.Put("graph", rhist.NewGraphAsymmErrorsFrom(points)))
	folder, err := riofs.Dir(file).Mkdir("outer/inner")
	check(err)
	check(folder.Put("text", rbase.NewObjString("hello")))
	check(file.Close())
}
