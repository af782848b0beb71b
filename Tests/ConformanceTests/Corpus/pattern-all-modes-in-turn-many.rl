topic pattern
title The same for a longer time, quietly, with a timer per mode
slow 2
timer T1 delay=20
timer T2 delay=60
timer T3 delay=100
source0 K
add T1 m1; add T2 m2; add T3 default; add K m1; add K m2; add K default
repeat 80: run default 0.001 no quiet; run m1 0.001 no quiet; run m2 0.001 no quiet
count T1; count T2; count T3
--- golden
timer T1 mode=m1
timer T2 mode=m2
timer T3 mode=default
count T1 = 1
count T2 = 1
count T3 = 1
end
