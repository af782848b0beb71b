topic query
title Order numbers at the extremes
observer A entry order=-2147483647
observer B entry order=2147483647
source0 S order=2147483647
source1 P order=-2147483647
timer T delay=100 order=2147483647
order A; order B; order S; order P; order T
--- golden
order A = -2147483647
order B = 2147483647
order S = 2147483647
order P = -2147483647
order T = 2147483647
end
