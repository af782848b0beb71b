topic source1
title Properties of a source1
source1 P order=12
order P; valid P
--- golden
order P = 12
valid P = yes
end
